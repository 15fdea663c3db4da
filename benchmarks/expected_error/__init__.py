"""What error to expect: our estimates and those of others, beside the error that came."""
