"""One file a verb: parse, call one function, print."""
