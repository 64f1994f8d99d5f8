import NIOCore

/// What is asked for. Each request is one connection, which ends with the answer.
public struct WebRequest: Sendable {
    public enum Method: Sendable {
        case get
        /// What a form sends (`application/x-www-form-urlencoded`), in this order.
        case form([(name: String, value: String)])
    }

    public var address: WebAddress
    public var method: Method
    /// The types of content that are understood, as in `Accept`.
    public var accept: String
    /// What a page set before (`name=value; name=value`), as in `Cookie`; nil for none.
    public var cookies: String?

    public init(_ method: Method = .get, _ address: WebAddress, accept: String = "*/*", cookies: String? = nil) {
        (self.method, self.address) = (method, address)
        (self.accept, self.cookies) = (accept, cookies)
    }
}

extension WebRequest {
    /// What a form is in a body or in a query, as browsers do it (WHATWG URL, application/x-www-form-urlencoded).
    public static func encoded(_ fields: [(name: String, value: String)]) -> String {
        fields.map { "\(encoded($0.name))=\(encoded($0.value))" }.joined(separator: "&")
    }

    private static func encoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF")
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: " "): encoded += "+"
            default: encoded += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
        return encoded
    }
}

/// How much of an answer is taken, and how long it may take. Whatever the other side sends, not more than
/// ``receivedBytes`` and one further read of ``readSize`` is ever held.
public struct WebLimits: Sendable {
    public enum Body: Sendable {
        /// A longer body is an error.
        case whole(upTo: Int)
        /// The rest of a longer body is not waited for.
        case first(Int)

        var count: Int {
            switch self {
            case .whole(let count), .first(let count): count
            }
        }
    }

    /// From the name's resolution to the last byte.
    public var time: Duration
    public var body: Body
    /// All names and values together.
    public var headerBytes = 16 * 1024
    public var headerFields = 64
    /// How many interim answers (1xx) may come before the one that counts.
    public var interimAnswers = 4

    public init(time: Duration, body: Body) { (self.time, self.body) = (time, body) }

    /// How many bytes are read at most before it is over: what chunks need around them is given as much as the body.
    public var receivedBytes: Int { headerBytes + 2 * body.count }

    /// What TLS adds to that: keys and certificates (BoringSSL takes 100 KiB of them), and as much again around the content.
    var receivedEncryptedBytes: Int { 128 * 1024 + 2 * receivedBytes }

    /// In bytes.
    public static let readSize = 4096

    /// What is read at once otherwise grows with what comes.
    static let readAllocator = FixedSizeRecvByteBufferAllocator(capacity: readSize)
}
