"""The report on a trained model: tables, figures, one page, and the explorer beside it."""
