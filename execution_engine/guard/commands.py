"""Commands: statements that change or show something, where only a question may stand."""

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from .characters import shown
from .dialect import Plain
from .refusal import Refusal

_COMMANDS = (Plain.Tokenizer.COMMANDS | set(Plain.Parser.STATEMENT_PARSERS)) - {TokenType.SEMICOLON}


def check_commands(_: str, words: Sequence[Token]) -> Refusal | None:
    """The first statement that begins with the word of a command."""
    starts = [at for at in range(len(words)) if at == 0 or words[at - 1].token_type is TokenType.SEMICOLON]
    command = next((words[at] for at in starts if words[at].token_type in _COMMANDS), None)
    if command is None:
        return None
    what = f"{shown(command.text.upper())} is a command, not a query"
    return Refusal(what=what, mend="only select … from … can be asked", offset=command.start)
