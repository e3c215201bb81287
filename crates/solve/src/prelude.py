__py_set = set

def llm_query(prompt, model=None):
    return __llm([prompt], model, 'raise', 1)

def llm_query_batched(prompts, model=None, errors='raise'):
    return __llm(list(prompts), model, errors, 0)

def rlm_query(prompt, context=None, model=None):
    return __rlm([prompt], None if context is None else [context], model, 'raise', 1)

def rlm_query_batched(prompts, contexts=None, model=None, errors='raise'):
    return __rlm(list(prompts), None if contexts is None else list(contexts), model, errors, 0)

def get(name):
    return __get(name)

def set(*values):
    if len(values) == 2:
        return __set(values[0], values[1])
    return __py_set(*values)

def slice(start, end, name='context', item=None):
    return __slice(start, end, name, item)

def search(text, name='context', start=0, limit=20, item=None):
    return __search(text, name, start, limit, item)

def show_vars():
    return __show_vars()

def checkpoint(name):
    return __checkpoint(name)

def rollback(name):
    return __rollback(name)
