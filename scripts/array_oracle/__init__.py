"""Cases of array operations with results that other libraries give."""
