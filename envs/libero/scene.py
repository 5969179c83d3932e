"""The scene's XML, as LIBERO wrote it and as the physics needs it."""

from __future__ import annotations

import xml.etree.ElementTree as ET

_FILE_ATTRIBUTES = ("file", "fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")
_LAYOUT_ATTRIBUTES = ("gridsize", "gridlayout", "content_type", "hflip", "vflip")


def without_textures(xml: str) -> str:
    """The scene with a single pixel in place of every texture file.

    Textures take most of LIBERO's memory and of the time that a scene needs to compile, and the physics never looks at
    them.  Meshes stay: MuJoCo derives inertia from some that are only meant to be seen.
    """
    root = ET.fromstring(xml)  # noqa: S314  the simulator's own output
    for texture in root.iter("texture"):
        if not any(name in texture.attrib for name in _FILE_ATTRIBUTES):
            continue
        for name in (*_FILE_ATTRIBUTES, *_LAYOUT_ATTRIBUTES):
            texture.attrib.pop(name, None)
        texture.attrib.update(builtin="flat", width="1", height="1", rgb1="0.5 0.5 0.5")
    return ET.tostring(root, encoding="unicode")


def assets_only(xml: str) -> str:
    """The scene's textures and materials, without meshes and bodies."""
    root = ET.fromstring(xml)  # noqa: S314  the simulator's own output
    slim = ET.Element("mujoco", model="visuals")
    slim.extend(element for tag in ("compiler", "visual") for element in root.findall(tag))
    asset = ET.SubElement(slim, "asset")
    asset.extend(element for element in root.iterfind("asset/*") if element.tag in ("texture", "material"))
    return ET.tostring(slim, encoding="unicode")
