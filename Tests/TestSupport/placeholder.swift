// Replaced by the first helper.
