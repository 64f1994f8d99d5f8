/// Whom to ask whether a network leads to the internet, and what the answer has to be. It is the maker's own: there is
/// none by default.
public struct ValidationSource: Sendable, Equatable {
    public enum Expectation: Sendable, Equatable {
        /// 200 to 299.
        case status(Int)
        /// A successful answer with this text; white space at its end does not count.
        case body(String)
    }

    public static let defaultStatus = 204
    /// In bytes.
    public static let maximumBodyLength = 1024

    public let address: WebAddress
    public let expected: Expectation

    /// - Parameters:
    ///   - url: begins with `http://`.
    ///   - status: 200 to 299, as a person writes it; nil for 204, unless a body is given.
    ///   - body: what the answer is to consist of; nil if its status alone decides.
    /// - Throws: `InvalidValidationSource`, which says what to do.
    public init(url: String, status: String? = nil, body: String? = nil) throws(InvalidValidationSource) {
        do {
            address = try WebAddress(url)
        } catch {
            throw .url(error)
        }
        // A network that wants somebody to sign in cannot answer in the place of a server that shows who it is.
        guard address.scheme == .http else { throw .encrypted }
        switch (status, body) {
        case (_?, _?): throw .statusAndBody
        case (nil, let body?):
            let expectation = body.trimmingEnd()
            guard (1...Self.maximumBodyLength).contains(expectation.utf8.count) else { throw .body }
            expected = .body(expectation)
        case (let status, nil):
            guard let status else {
                expected = .status(Self.defaultStatus)
                return
            }
            guard status.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let status = Int(status),
                (200...299).contains(status)
            else { throw .status }
            expected = .status(status)
        }
    }
}

/// Why there is nobody to ask.
public enum InvalidValidationSource: Error, Equatable, CustomStringConvertible {
    case url(InvalidWebAddress)
    case encrypted
    case status
    case body
    case statusAndBody

    public var description: String {
        switch self {
        case .url(let reason): "the validation URL cannot be used: \(reason); write it as http://HOST/PATH"
        case .encrypted:
            "the validation URL has to begin with http://, for over https:// a network that wants somebody to sign in "
                + "cannot be told from a broken one"
        case .status: "the validation status is a number from 200 to 299, such as \(ValidationSource.defaultStatus)"
        case .body: "the validation body is 1 to \(ValidationSource.maximumBodyLength) bytes of text"
        case .statusAndBody: "set the validation status or the validation body, not both"
        }
    }
}

extension String {
    func trimmingEnd() -> String {
        guard let last = unicodeScalars.lastIndex(where: { !" \t\r\n".unicodeScalars.contains($0) }) else { return "" }
        return String(unicodeScalars[...last])
    }
}
