/// What is said to a server so that it shows that it lives.
protocol Conversation {
    var hello: [UInt8] { get }
    /// What is said from time to time afterwards.
    var ping: [UInt8] { get }
    /// - Parameter bytes: what came since the last thing was said, in pieces as they came.
    /// - Returns: whether the answer is complete.
    mutating func hear(_ bytes: some Sequence<UInt8>) throws(UnexpectedAnswer) -> Bool
}

/// The other side speaks something else, or more than it should.
struct UnexpectedAnswer: Error, Equatable {}

extension Target {
    /// Nil where nothing is said.
    func conversation(pingEvery interval: Duration) -> (any Conversation)? {
        switch service {
        case .tcp: nil
        case .http: HTTPConversation(host: host, port: port, isProven: isTLS)
        case .mqtt: MQTTConversation(pingEvery: interval)
        }
    }
}
