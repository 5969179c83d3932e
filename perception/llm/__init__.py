"""Language and vision-language models behind one small contract: clients, cache, structured answers, ledger."""

from __future__ import annotations

from .cache import CachedChat
from .contract import ChatModel, Completion, Message, Request, RequestFailed
from .fakes import ScriptedChat
from .perceiver import Perceiver, PromptedPerceiver, Utterance
from .structured import Structured, ask_structured, parse_answer

__all__ = [
    "CachedChat",
    "ChatModel",
    "Completion",
    "Message",
    "Perceiver",
    "PromptedPerceiver",
    "Request",
    "RequestFailed",
    "ScriptedChat",
    "Structured",
    "Utterance",
    "ask_structured",
    "parse_answer",
]
