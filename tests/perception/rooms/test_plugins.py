"""The transformers plug-ins, on tiny randomly initialised models of the real classes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thinktwice.errors import UsageError, WeightsError
from thinktwice.perception.conformance import check_perception
from thinktwice.perception.rooms_plugins import OpenVocabulary, build_plugin

transformers = pytest.importorskip("transformers")
# transformers 5.24 and its tokenizers warn about their own deprecated calls when tiny models are built and saved.
pytestmark = [
    pytest.mark.sim,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
SEEN: dict[str, Any] = {"images.front": np.random.default_rng(0).integers(0, 255, (64, 64, 3)).astype(np.uint8)}


def owlv2(folder: Path) -> Path:
    """A tiny OWLv2 with a tokenizer of single letters."""
    import torch
    from transformers import CLIPTokenizer, Owlv2Config, Owlv2ForObjectDetection, Owlv2ImageProcessor, Owlv2Processor

    folder.mkdir()
    letters = [chr(code) for code in range(97, 123)]
    words = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({word: index for index, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    tower = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    text = {**tower, "vocab_size": len(words), "max_position_embeddings": 16, "eos_token_id": 53, "bos_token_id": 52}
    vision = {**tower, "image_size": 32, "patch_size": 8}
    torch.manual_seed(0)
    config = Owlv2Config(text_config=text, vision_config=vision, projection_dim=16)
    Owlv2ForObjectDetection(config).save_pretrained(folder)
    images = Owlv2ImageProcessor(size={"height": 32, "width": 32})
    Owlv2Processor(image_processor=images, tokenizer=tokenizer).save_pretrained(folder)
    return folder


def grounding_dino(folder: Path) -> Path:
    """A tiny Grounding DINO with a word-piece vocabulary of letters."""
    import torch
    from transformers import (
        BertTokenizer,
        GroundingDinoConfig,
        GroundingDinoForObjectDetection,
        GroundingDinoImageProcessor,
        GroundingDinoProcessor,
        SwinConfig,
    )

    folder.mkdir()
    letters = [chr(code) for code in range(97, 123)]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "?", *letters, *(f"##{letter}" for letter in letters)]
    (folder / "vocab.txt").write_text("\n".join(words))
    tokenizer = BertTokenizer(str(folder / "vocab.txt"))
    backbone = SwinConfig(
        embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 1, 1, 1], window_size=2, image_size=128, patch_size=4,
        out_features=["stage2", "stage3", "stage4"],
    )  # fmt: skip
    text = {
        "model_type": "bert", "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": 16, "vocab_size": len(words), "max_position_embeddings": 64,
    }  # fmt: skip
    torch.manual_seed(0)
    config = GroundingDinoConfig(
        backbone_config=backbone, text_config=text, d_model=32, encoder_layers=1, decoder_layers=2, num_queries=8,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16,
        max_text_len=64, fusion_dropout=0.0, text_enhancer_dropout=0.0,
    )  # fmt: skip
    GroundingDinoForObjectDetection(config).save_pretrained(folder)
    images = GroundingDinoImageProcessor(size={"height": 128, "width": 128})
    GroundingDinoProcessor(image_processor=images, tokenizer=tokenizer).save_pretrained(folder)
    return folder


def sam2(folder: Path) -> Path:
    """A tiny SAM 2."""
    import torch
    from transformers import Sam2Config, Sam2ImageProcessor, Sam2Model, Sam2Processor
    from transformers.models.sam2.configuration_sam2 import Sam2HieraDetConfig, Sam2VisionConfig

    backbone = Sam2HieraDetConfig(
        hidden_size=8, num_attention_heads=1, image_size=[64, 64], blocks_per_stage=[1, 1, 1, 1],
        embed_dim_per_stage=[8, 16, 32, 64], num_attention_heads_per_stage=[1, 1, 2, 4],
        window_size_per_stage=[4, 2, 2, 2], window_positional_embedding_background_size=[2, 2],
        global_attention_blocks=[],
    )  # fmt: skip
    vision = Sam2VisionConfig(
        backbone_config=backbone, backbone_channel_list=[64, 32, 16, 8], fpn_hidden_size=32,
        backbone_feature_sizes=[[16, 16], [8, 8], [4, 4]],
    )  # fmt: skip
    decoder = {"hidden_size": 32, "num_attention_heads": 2, "mlp_dim": 32, "iou_head_hidden_dim": 32}
    torch.manual_seed(0)
    config = Sam2Config(
        vision_config=vision, mask_decoder_config=decoder, prompt_encoder_config={"hidden_size": 32, "image_size": 64}
    )
    Sam2Model(config).save_pretrained(folder)
    images = Sam2ImageProcessor(size={"height": 64, "width": 64}, mask_size={"height": 16, "width": 16})
    Sam2Processor(image_processor=images, target_size=64).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("name", ["grounding-dino", "owlv2"])
def test_boxes_and_masks_follow_the_contract(tmp_path: Path, name: str) -> None:
    detector = {"grounding-dino": grounding_dino, "owlv2": owlv2}[name](tmp_path / "detector")
    plugin = OpenVocabulary(name, detector, sam2(tmp_path / "sam2"), threshold=0.0)
    assert plugin.name == f"{name}+sam2"
    check_perception(plugin, SEEN, ["mug", "desk"], camera="front")
    assert {d.label for d in plugin.detect(SEEN, ["mug", "desk"], camera="front")} <= {"mug", "desk"}


def test_missing_and_foreign_checkpoints_are_errors(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="no checkpoint folder"):
        build_plugin(f"owlv2:{tmp_path / 'nothing'}")
    (tmp_path / "empty").mkdir()
    with pytest.raises(WeightsError, match="no checkpoint that"):
        build_plugin(f"grounding-dino:{tmp_path / 'empty'}")


@pytest.mark.parametrize("spec", ["magic", "owlv2", "owlv2:", "sam2:x", "owlv2:x+yolo:y"])
def test_a_spec_of_another_form_is_an_error(spec: str) -> None:
    with pytest.raises(UsageError, match="names no perception"):
        build_plugin(spec)
