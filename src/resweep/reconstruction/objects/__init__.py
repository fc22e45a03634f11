"""Objects cut out of a drive into a bank (paper D, 3.2)."""
