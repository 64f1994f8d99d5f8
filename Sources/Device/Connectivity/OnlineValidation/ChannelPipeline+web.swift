import NIOCore
import NIOHTTP1
import NIOSSL

extension ChannelPipeline.SynchronousOperations {
    /// An address is looked for among those in the certificate; a name is sent along, too (RFC 6066, 3).
    private func addTLS(_ context: NIOSSLContext, to address: WebAddress) throws {
        let isName = (try? SocketAddress(ipAddress: address.host, port: 0)) == nil
        try addHandler(NIOSSLClientHandler(context: context, serverHostname: isName ? address.host : nil))
    }

    /// - Parameters:
    ///   - tls: nil where the connection is not encrypted.
    ///   - finished: is called at least once; the first time counts.
    func addWebHandlers(
        for address: WebAddress, limits: WebLimits, tls: NIOSSLContext? = nil,
        finished: @escaping (WebExchange) -> Void
    ) throws {
        var decoderLimits = NIOHTTPDecoderLimitConfiguration()
        decoderLimits.maxHeaderFieldSize = limits.headerBytes
        decoderLimits.maxHeaderListSize = limits.headerBytes
        decoderLimits.maxHeaderFieldCount = limits.headerFields
        let decoder = HTTPResponseDecoder(informationalResponseStrategy: .forward, limitConfiguration: decoderLimits)
        let content = ByteMeter(limit: limits.receivedBytes)
        var wire = content
        if let tls {
            wire = ByteMeter(limit: limits.receivedEncryptedBytes)
            try addHandler(wire)
            try addTLS(tls, to: address)
        }
        let collector = AnswerCollector(for: address, limits: limits, meter: wire, finished: finished)
        try addHandlers([
            content, HTTPRequestEncoder(), ByteToMessageHandler(decoder), NIOHTTPRequestHeadersValidator(), collector,
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
            let content = ByteBuffer(string: WebRequest.encoded(fields))
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
}
