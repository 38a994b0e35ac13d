"""Hidden states from anywhere: what people have, as arrays, and all measures of it."""
