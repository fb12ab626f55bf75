"""The dialects, the machines to compile for, and interpreters that define each op's meaning."""
