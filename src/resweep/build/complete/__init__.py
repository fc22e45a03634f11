"""What nobody recorded but can be argued: ground between ground, façades above façades. All of it is marked."""
