answer = {'content': '', 'ready': False}

def SHOW_VARS():
    return __show_vars()

def FINAL(value):
    return __final(value)

def FINAL_VAR(name):
    return __final(__get(name))
