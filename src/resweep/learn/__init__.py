"""What recordings teach: which beams do not return, how bright returns are (D, 4.2), what each point is (C, 3.2)."""
