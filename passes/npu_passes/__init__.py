"""The passes, one per file; decisions on plain numbers are in `npu_plans`."""
