"""What the heads of a trained model write and read, in words; and changed heads to test it."""

from parkade.trained.meaning.edits import along
from parkade.trained.meaning.table import AXES, meaning
from parkade.trained.meaning.vocabulary import KnownWords, known_words

__all__ = ["AXES", "KnownWords", "along", "known_words", "meaning"]
