"""Double buffering: transfers run while layers compute."""
