def FINAL_VAR(name):
    return __final_var(name)
