print("thumbworker")
