/// One line of what strace(1) writes with `-f -y`: `1234 pwrite64(5</the/path>, "..."..., 160, 0) = 160`.
struct TracedCall {
    let name: Substring
    private let arguments: Substring
    private let returned: Substring

    /// - Returns: nil if the line tells of something else, such as the end of the process.
    /// - Throws: if the line has only half of a call, for then something would not be counted.
    init?(_ line: Substring) throws {
        guard !line.contains("<unfinished ...>") else {
            throw BenchmarkError("more than one thread was traced: \(line)")
        }
        guard let bracket = line.firstIndex(of: "("), let equals = line.lastIndex(of: "="),
            let space = line[..<bracket].lastIndex(of: " ")
        else { return nil }
        name = line[line.index(after: space)..<bracket]
        arguments = line[bracket..<equals].dropFirst()
        returned = line[equals...].dropFirst(2).prefix { $0 != " " && $0 != "<" }
    }

    /// What the call returned, or nil if it failed.
    var result: Int? {
        guard let number = Self.number(returned), number >= 0 else { return nil }
        return number
    }

    /// The path of the first argument, if that is a descriptor.
    var path: Substring? {
        guard let start = arguments.firstIndex(of: "<"), let end = arguments[start...].firstIndex(of: ">"),
            arguments[..<start].allSatisfy(\.isNumber)
        else { return nil }
        return arguments[arguments.index(after: start)..<end]
    }

    /// An argument that is a number. For calls that have no text among their arguments.
    func number(_ index: Int) -> Int? {
        let parts = arguments.split(separator: ",")
        return parts.indices.contains(index) ? Self.number(parts[index].drop { $0 == " " }) : nil
    }

    /// What the process says of itself in the trace.
    var mark: Mark? {
        guard name == "write", arguments.hasPrefix("1<"), let start = arguments.firstIndex(of: "\"") else { return nil }
        return Mark(arguments[arguments.index(after: start)...].prefix { $0 != "\\" && $0 != "\"" })
    }

    private static func number(_ text: Substring) -> Int? {
        text.hasPrefix("0x") ? Int(text.dropFirst(2), radix: 16) : Int(text)
    }
}
