"""Li, Yang and Wang (2007): transductive distance learning."""
