/// The words of a line, read one after the other.
struct RecordWords {
    private var rest: ArraySlice<Substring>

    /// What a line should have had where it has something else.
    struct Fault: Error, Equatable {
        let expected: String
    }

    init(_ line: Substring) { rest = line.split(separator: " ", omittingEmptySubsequences: false)[...] }

    mutating func next<Word: RecordWord>(_: Word.Type = Word.self) throws(Fault) -> Word {
        guard let word = rest.popFirst(), let value = Word(word: word) else { throw Fault(expected: Word.form) }
        return value
    }

    /// One of the words that `values` has.
    mutating func next<Value>(of values: KeyValuePairs<String, Value>) throws(Fault) -> Value {
        let word = rest.popFirst()
        guard let value = values.first(where: { $0.key[...] == word })?.value else {
            throw Fault(expected: "one of " + values.map(\.key).joined(separator: ", "))
        }
        return value
    }

    mutating func text(_ form: String) throws(Fault) -> Substring {
        guard let word = rest.popFirst(), !word.isEmpty else { throw Fault(expected: form) }
        return word
    }

    var isAtEnd: Bool { rest.isEmpty }

    func finish() throws(Fault) {
        guard rest.isEmpty else { throw Fault(expected: "the end of the line") }
    }
}
