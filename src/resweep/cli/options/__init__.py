"""Options and arguments of the commands, by what they are about: what a command lists, it names from here."""
