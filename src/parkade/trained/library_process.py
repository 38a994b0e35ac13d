"""The library `tokenizers` at work: a script for a process of its own, started by `library.py`.

It reads requests and writes answers, each a line of JSON. The first request describes a tokenizer.
An error is the last answer: it ends the process.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from types import TracebackType
from typing import Any

import tokenizers


def make(kind: str, arguments: dict[str, Any]) -> Any:
    """The tokenizer of a description."""
    if kind == "file":
        whole = tokenizers.Tokenizer.from_file(arguments["path"])
        whole.no_padding()  # some files ask for a fixed length
        whole.no_truncation()
        return whole
    if kind == "words":
        return tokenizers.BertWordPieceTokenizer(
            arguments["path"], lowercase=arguments["lowercase"]
        )
    merges = [tuple(pair) for pair in arguments["merges"]]
    vocabulary = {piece: i for i, piece in enumerate(arguments["pieces"])}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=merges))
    cut = tokenizers.pre_tokenizers
    bytes_only = cut.ByteLevel(add_prefix_space=False, use_regex=True)
    digits = cut.Sequence([cut.Digits(individual_digits=True), bytes_only])
    made.pre_tokenizer = digits if arguments["digits"] else bytes_only
    made.decoder = tokenizers.decoders.ByteLevel()
    made.add_special_tokens(arguments["special"])
    return made


def answer(tokenizer: Any, kind: str, argument: Any) -> Any:
    """The answer to a request."""
    if kind == "encode":
        return tokenizer.encode(argument).ids
    if kind == "decode":
        return tokenizer.decode(argument)
    alone = tokenizer.decode([argument], skip_special_tokens=False)
    return alone or tokenizer.id_to_token(argument) or ""


def bound(memory: int, seconds: int) -> None:
    """Bound the memory of this process and its next seconds of CPU time, where that is possible."""
    with suppress(ImportError, ValueError, OSError):  # not on Windows; macOS has some of them
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        soon = int(used.ru_utime + used.ru_stime) + 1 + seconds
        resource.setrlimit(resource.RLIMIT_CPU, (soon, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def say(name: str, value: Any) -> None:
    """Write an answer as a line of JSON."""
    print(json.dumps({name: value}), flush=True)


def end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Write an error, whatever it is: the library's panics are of a type without a name."""
    say("error", f"{kind.__name__}: {str(error)[:1000]}")


def main() -> None:
    """Answer requests until there are no more."""
    sys.excepthook = end
    memory, seconds = map(int, sys.argv[1:])
    tokenizer = None
    for line in sys.stdin:
        bound(memory, seconds)
        kind, argument = json.loads(line)
        if tokenizer is None:
            tokenizer = make(kind, argument)
            say("answer", None)
        else:
            say("answer", answer(tokenizer, kind, argument))


if __name__ == "__main__":
    main()
