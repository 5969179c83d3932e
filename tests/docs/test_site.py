"""The site builds without a warning, needs no other host, and every link in it leads somewhere."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


class Page(HTMLParser):
    """The anchors, links and loaded files of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        self.loaded += [values[name] for name in ("src", "href") if tag in ("script", "link", "img") and name in values]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


@pytest.mark.slow
def test_every_link_and_anchor_leads_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    broken: list[str] = []
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or path.name == "404.html":  # the server shows that page at any depth
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            # The theme has `#` links to the top and `#__…` toggles that its script answers.
            missing_anchor = anchor and target in pages and anchor not in pages[target].anchors
            if not target.exists() or (missing_anchor and not anchor.startswith("__")):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert not broken


@pytest.mark.slow
def test_nothing_comes_from_another_host(site: Path, pages: dict[Path, Page]) -> None:
    loaded = {link for page in pages.values() for link in page.loaded if urlsplit(link).netloc}
    assert not loaded
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert not re.findall(r"url\(['\"]?(?:https?:)?//", styles)


@pytest.mark.slow
def test_every_page_is_in_the_navigation(site: Path, pages: dict[Path, Page]) -> None:
    home = {urlsplit(link).path for link in pages[site / "index.html"].links}
    sources = {path.relative_to(DOCS).with_suffix(".html").as_posix() for path in DOCS.rglob("*.md")}
    assert sources - home <= {"index.html"}


@pytest.mark.slow
def test_the_evidence_page_shows_every_file_of_evidence(site: Path) -> None:
    shown = (site / "evidence.html").read_text(encoding="utf-8")
    for path in (DOCS / "evidence").glob("*/*.json"):
        assert path.relative_to(DOCS).as_posix() in shown
        for arm, found in json.loads(path.read_text()).get("arms", {}).items():
            row = re.search(rf"<td><code>{re.escape(arm)}</code></td>(.*?)</tr>", shown, re.DOTALL)
            assert row is not None, (path, arm)
            assert f"{100 * found['rate']:.1f}%" in shown


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium (Debian's)")
def test_the_search_works_from_the_disk(site: Path, tmp_path: Path) -> None:
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}"]
    command += ["--virtual-time-budget=15000", "--dump-dom", f"{(site / 'index.html').as_uri()}?q=clutch"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert re.search(r"\d+ matching documents", done.stdout), done.stderr


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_conventions_page_says_what_the_worlds_declare() -> None:
    written = (DOCS / "conventions.md").read_text(encoding="utf-8")
    assert tool("conventions").page(written) == written, "run: python docs/tools/conventions.py"


def test_tables_of_evidence_show_figures_with_their_intervals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = tool("evidence")
    found = {
        "command": "python -m benchmarks x",
        "arms": {
            "one": {"episodes": 40, "rate": 0.25, "ci95": [0.1, 0.5], "errors": 0, "per_episode": {"steps": 1234.5}},
            "other": {"episodes": 40, "rate": None, "spl": 0.5, "spl_interval": {"low": 0.25, "high": 0.75}},
        },
        "paired": {"one vs other": {"pairs": 40, "failure_reduction": 0.5, "ci95": [0.25, 0.75], "mcnemar_p": 6e-8}},
        "ratios": {"speed": 3.25},
    }
    monkeypatch.setattr(evidence, "DOCS", tmp_path)
    path = tmp_path / "evidence" / "attc" / "summary.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(found))
    lines = evidence.on_page_markdown(f"before\n{evidence.MARK}\nafter").replace("\u00a0", " ").splitlines()
    assert "| arm | episodes | rate | errors | steps | spl |" in lines
    assert "| `one` | 40 | 25.0% (10.0% to 50.0%) | 0 | 1234 |  |" in lines
    assert "| `other` | 40 |  |  |  | 0.5 (0.25 to 0.75) |" in lines
    assert "| `one vs other` | 40 | 50.0% (25.0% to 75.0%) | 6e-08 |" in lines
    assert "| `speed` | 3.25 |" in lines
    assert lines[0] == "before"
    assert lines[-1] == "after"


def test_the_failures_page_quotes_messages_that_the_code_has() -> None:
    said = {
        node.value
        for folder in ("thinktwice", "envs", "perception", "critics", "agents", "rollouts", "scripts")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    symptoms = re.findall(r"^\| ([^|]*) \|", (DOCS / "faq.md").read_text(encoding="utf-8"), re.MULTILINE)
    # A message is several words; single names such as `error` or `pip` are not quoted from anywhere.
    quoted = [words for symptom in symptoms for words in re.findall(r"`([^`]* [^`]*)`", symptom)]
    assert len(quoted) > 20
    for message in quoted:
        for part in (part.strip() for part in message.split("…")):
            assert any(part in text for text in said), f"no message says {part!r}"


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_links_of_the_repository_s_own_pages_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", (ROOT / page).read_text(encoding="utf-8"))
    assert links or page == "CONTRIBUTING.md"
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []
