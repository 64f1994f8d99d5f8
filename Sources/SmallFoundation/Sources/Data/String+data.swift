extension String {
    public struct Encoding: Sendable {
        public static let utf8 = Encoding()
    }

    /// - Returns: nil for what is not UTF-8.
    public init?(data: Data, encoding: Encoding) { self.init(validating: data, as: UTF8.self) }

    public func data(using encoding: Encoding) -> Data? { Data(utf8) }
}
