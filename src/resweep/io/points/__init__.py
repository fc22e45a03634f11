"""What point files share: returns as named columns, rows of numbers, and the header that carries pose and motion."""
