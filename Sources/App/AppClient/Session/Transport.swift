/// Carries the lines of a connection to a device whose session is open. Received lines go to its ``MessageRouter``.
protocol Transport: Sendable {
    /// Sends a line. Calls `onFailure` if the line is certainly not sent.
    func send(_ line: [UInt8], onFailure: @escaping @Sendable () -> Void)
    /// Closes the connection after what was sent.
    func close()
    /// Closes the connection, and returns when it is closed.
    func closed() async
    /// Closes the connection at once. Unsent lines do not arrive, unless ``mayDeliverLate`` is true.
    func abandon()
    /// Whether sent lines may arrive after ``abandon()``, because a broker has them.
    var mayDeliverLate: Bool { get }
}
