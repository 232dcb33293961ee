"""How agents work together: what they ask of each other, and what is answered."""
