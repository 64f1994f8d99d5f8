import Glibc
import Linux

/// An `errno`, shown in words.
struct ErrorNumber: CustomStringConvertible {
    let number: Int32

    init(_ number: Int32) { self.number = number }

    var description: String {
        var text = [CChar](repeating: 0, count: 128)
        guard strerror_r(number, &text, text.count) == 0 else { return "errno \(number)" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension LabError {
    /// The failure of the call just made, with the `errno` that it left.
    static func lastCall(_ attempt: String) -> LabError { .system(SystemError(attempt)) }
}
