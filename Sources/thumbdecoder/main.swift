print("thumbdecoder")
