import NIOCore
import NIOHTTP1
import NIOSSL

extension ChannelPipeline.SynchronousOperations {
    /// An address is looked for among those in the certificate; a name is sent along, too (RFC 6066, 3).
    func addTLS(_ context: NIOSSLContext, to address: WebAddress) throws {
        let isName = (try? SocketAddress(ipAddress: address.host, port: 0)) == nil
        try addHandler(NIOSSLClientHandler(context: context, serverHostname: isName ? address.host : nil))
    }

    /// - Parameter finished: is called at least once; the first time counts.
    func addWebHandlers(
        for address: WebAddress, limits: WebLimits, finished: @escaping (WebExchange) -> Void
    ) throws {
        var decoderLimits = NIOHTTPDecoderLimitConfiguration()
        decoderLimits.maxHeaderFieldSize = limits.headerBytes
        decoderLimits.maxHeaderListSize = limits.headerBytes
        decoderLimits.maxHeaderFieldCount = limits.headerFields
        let decoder = HTTPResponseDecoder(informationalResponseStrategy: .forward, limitConfiguration: decoderLimits)
        let meter = ByteMeter(limit: limits.receivedBytes)
        let collector = AnswerCollector(for: address, limits: limits, meter: meter, finished: finished)
        try addHandlers([
            meter, HTTPRequestEncoder(), ByteToMessageHandler(decoder), NIOHTTPRequestHeadersValidator(), collector,
        ])
    }

    func write(_ request: WebRequest) {
        var headers: HTTPHeaders = [
            "Host": request.address.authority, "User-Agent": "altnet", "Accept": request.accept,
            "Accept-Encoding": "identity", "Connection": "close",
        ]
        if let cookies = request.cookies { headers.add(name: "Cookie", value: cookies) }
        var body: ByteBuffer?
        if case .form(let fields) = request.method {
            let content = ByteBuffer(string: Self.encoded(fields))
            headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
            headers.add(name: "Content-Length", value: "\(content.readableBytes)")
            body = content
        }
        let head = HTTPRequestHead(
            version: .http1_1, method: body == nil ? .GET : .POST, uri: request.address.target, headers: headers)
        write(NIOAny(HTTPClientRequestPart.head(head)), promise: nil)
        if let body { write(NIOAny(HTTPClientRequestPart.body(.byteBuffer(body))), promise: nil) }
        writeAndFlush(NIOAny(HTTPClientRequestPart.end(nil)), promise: nil)
    }

    /// As browsers do it (WHATWG URL, application/x-www-form-urlencoded).
    private static func encoded(_ fields: [(name: String, value: String)]) -> String {
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
