import Linux

/// A standard stream or a terminal that text is written to.
struct TextOutput: Sendable {
    let descriptor: Int32

    /// Writes all of it, in as many parts as the system takes.
    func put(_ text: String) throws(SystemError) { try writeAll(text.utf8, to: descriptor, attempting: "write") }
}
