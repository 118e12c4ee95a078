"""The one kind of error that is the user's to mend: printed without a traceback; and how it names a text."""


class AntiphonError(Exception):
    """Says what is wrong, where, and how to mend it, in one or two lines."""

    code = 2


class DiskError(AntiphonError):
    """The machine could not keep what was to be written; nothing that was there is lost."""

    code = 1


class Worse(AntiphonError):
    """No mistake: what was asked to be told by the exit code."""

    code = 3


class Interrupted(AntiphonError):
    """Stopped on demand; what was done is saved."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def name_lines(count: int, first: int = 0) -> list[str]:
    """What texts are called that came without a file: by their number among all that were handed over, from one."""
    return [f"line {first + number}" for number in range(1, count + 1)]


def so_many_lines(count: int) -> str:
    return f"{count:,} line{'' if count == 1 else 's'}"
