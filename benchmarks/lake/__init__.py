"""What tables cost that lie in a store or that a log describes, beside the same rows in a folder of this machine."""
