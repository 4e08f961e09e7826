// Replaced by the first tests.
