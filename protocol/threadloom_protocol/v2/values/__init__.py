"""Values that several rooms share. Nothing here declares a method."""
