import Glibc

/// How far long work has come, on standard error while a person watches there.
struct Progress {
    private let what: String
    private let wanted: Double
    private let isShown = isatty(STDERR_FILENO) == 1
    private var done = 0.0
    private var shown = -1

    /// - Parameter what: Follows the number: `of 1000 device-hours`.
    init(_ what: String, wanted: Double) {
        self.what = what
        self.wanted = wanted
    }

    mutating func add(_ amount: Double) {
        done += amount
        let percent = Int(min(100, done * 100 / max(wanted, .leastNonzeroMagnitude)))
        guard isShown, percent != shown else { return }
        shown = percent
        write("\r\(Int(done)) \(what), \(percent) %")
    }

    func end() { if isShown { write("\r\u{1b}[K") } }

    private func write(_ text: String) { _ = text.withCString { Glibc.write(STDERR_FILENO, $0, strlen($0)) } }
}
