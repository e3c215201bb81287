__py_set = set
__py_len = len
__py_list = list
__py_type = type
__py_str = str
__py_locals = locals
__in = {}
__reads = []
__room = [4096]

def __note(name, item, start, end):
    if start >= end:
        return
    if __reads:
        last = __reads[-1]
        if last[0] == name and last[1] == item and last[2] <= start and start <= last[3]:
            if end > last[3]:
                last[3] = end
            return
    __reads.append([name, item, start, end])
    if __py_len(__reads) > __room[0]:
        __squeeze()

def __squeeze():
    gap = 0
    __reads.sort()
    while gap < 1000000000000:
        joined = []
        for read in __reads:
            if joined and joined[-1][0] == read[0] and joined[-1][1] == read[1] and read[2] <= joined[-1][3] + gap:
                if read[3] > joined[-1][3]:
                    joined[-1][3] = read[3]
            else:
                joined.append(read)
        __reads.clear()
        __reads.extend(joined)
        if __py_len(__reads) <= 2048:
            return
        gap = gap * 4 + 1024
    __room[0] = 2 * __py_len(__reads)

def __taken():
    made = __py_list(__reads)
    __reads.clear()
    return made

class _LargeText:
    def __init__(self, name, length, refusal):
        self.name = name
        self.length = length
        self.refusal = refusal

    def find(self, text, start=0):
        return _large_find(self, text, start)

    def index(self, text, start=0):
        found = _large_find(self, text, start)
        if found < 0:
            raise ValueError('substring not found')
        return found

    def count(self, text):
        return _large_count(self, text)

    def startswith(self, text):
        return _large_part(self, 0, _length(text)) == text

    def split(self, separator=None, most=-1):
        raise MemoryError(self.refusal)

    def splitlines(self):
        raise MemoryError(self.refusal)

    def lower(self):
        raise MemoryError(self.refusal)

    def upper(self):
        raise MemoryError(self.refusal)

    def strip(self):
        raise MemoryError(self.refusal)

    def replace(self, old, new):
        raise MemoryError(self.refusal)

    def __getitem__(self, at):
        raise MemoryError(self.refusal)

    def __contains__(self, text):
        raise MemoryError(self.refusal)

    def __iter__(self):
        raise MemoryError(self.refusal)

    def __str__(self):
        raise MemoryError(self.refusal)

class _LargeList:
    def __init__(self, name, length, refusal):
        self.name = name
        self.length = length
        self.refusal = refusal

    def __getitem__(self, at):
        raise MemoryError(self.refusal)

    def __contains__(self, item):
        raise MemoryError(self.refusal)

    def __iter__(self):
        raise MemoryError(self.refusal)

def _length(value):
    return __py_len(value)

def _large_part(value, start, end):
    return __slice(start, end, value.name, None)

def _large_find(value, text, start):
    if start < 0:
        start = start + value.length
    found = __search(text, value.name, start, 1, None)
    return found[0]['start'] if found else -1

def _large_count(value, text):
    count = 0
    start = 0
    while True:
        found = __search(text, value.name, start, 1000, None)
        count = count + __py_len(found)
        if __py_len(found) < 1000:
            return count
        start = found[-1]['end']

def len(value):
    kind = __py_type(value)
    if kind is _LargeText or kind is _LargeList:
        return value.length
    return __py_len(value)

def __part(name, value, start, end):
    kind = __py_type(value)
    if kind is _LargeText:
        return __slice(0 if start is None else start, end, value.name, None)
    if kind is _LargeList:
        raise MemoryError(value.refusal)
    part = value[start:end]
    if name in __in and value is __in[name]:
        length = __py_len(value)
        first = 0 if start is None else start
        last = length if end is None else end
        if first < 0:
            first = first + length if first + length > 0 else 0
        if last < 0:
            last = last + length
        if last > length:
            last = length
        if kind is __py_str:
            __note(name, 0, first, last)
        else:
            for item in range(first, last):
                __note(name, item, 0, __py_len(value[item]['text']))
    return part

def __item(name, value, at):
    kind = __py_type(value)
    if kind is _LargeText:
        place = at + value.length if at < 0 else at
        if place < 0 or place >= value.length:
            raise IndexError('string index out of range')
        return __slice(place, place + 1, value.name, None)
    if kind is _LargeList:
        place = at + value.length if at < 0 else at
        return __file(value.name, place)
    found = value[at]
    if name in __in and value is __in[name] and __py_type(at) is __py_type(0):
        place = at + __py_len(value) if at < 0 else at
        if kind is __py_str:
            __note(name, 0, place, place + 1)
        else:
            __note(name, place, 0, __py_len(found['text']))
    return found

def llm_query(prompt, model=None):
    return __llm([prompt], model, 'raise', 1)

def llm_query_batched(prompts, model=None, errors='raise'):
    return __llm(__py_list(prompts), model, errors, 0)

def rlm_query(prompt, context=None, model=None):
    return __rlm([prompt], None if context is None else [context], model, 'raise', 1)

def rlm_query_batched(prompts, contexts=None, model=None, errors='raise'):
    return __rlm(__py_list(prompts), None if contexts is None else __py_list(contexts), model, errors, 0)

def get(name):
    return __get(name)

def set(*values):
    if __py_len(values) == 2:
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
