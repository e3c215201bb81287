def _list_of(what, values):
    if __py_type(values) is __py_str:
        raise TypeError(what + ' must be a list of str, found a str: put it into a list')
    return __py_list(values)

def _handed(context):
    kind = __py_type(context)
    if kind is _LargeText or kind is _LargeList:
        raise MemoryError(context.refusal)
    return context

def _large_count(value, text):
    return __count(text, value.name)

def llm_query_batched(prompts, model=None, errors='raise'):
    return __llm(_list_of('prompts', prompts), model, errors, 0)

def rlm_query(prompt, context=None, model=None):
    return __rlm([prompt], None if context is None else [_handed(context)], model, 'raise', 1)

def rlm_query_batched(prompts, contexts=None, model=None, errors='raise'):
    prompts = _list_of('prompts', prompts)
    if contexts is not None:
        contexts = [_handed(context) for context in _list_of('contexts', contexts)]
    return __rlm(prompts, contexts, model, errors, 0)
