import NIOCore
import NIOEmbedded

@testable import OnlineValidation

/// SwiftPM calls the start of a program by its module's name; libFuzzer has one of its own, which is called from here.
@_cdecl("web_answer_fuzz_main")
public func start(
    _ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> CInt {
    var (count, arguments) = (count, arguments)
    return runDriver(&count, &arguments, fuzz)
}

/// llvm/compiler-rt/lib/fuzzer/FuzzerInterface.h
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ callback: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// What libFuzzer calls with each of its inputs: what a server answers, until it ends the connection. However the bytes
/// arrive, the outcome is the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    for body in [WebLimits.Body.whole(upTo: 64), .first(16)] {
        let whole = outcome(of: [bytes[...]], body: body)
        let pieces = outcome(of: pieces(of: bytes), body: body)
        precondition(isSame(whole, pieces), "the answer depends on how it arrives")
        if case .success(let answer) = whole { check(answer, body: body) }
    }
    return 0
}

/// Pieces of sizes that the bytes themselves decide.
private func pieces(of bytes: [UInt8]) -> [ArraySlice<UInt8>] {
    var rest = bytes[...]
    var pieces: [ArraySlice<UInt8>] = []
    while let first = rest.first {
        let piece = rest.prefix(1 + Int(first) % 37)
        pieces.append(piece)
        rest = rest.dropFirst(piece.count)
    }
    return pieces
}

private func outcome(of pieces: [ArraySlice<UInt8>], body: WebLimits.Body) -> Result<WebAnswer, WebFailure> {
    guard let address = try? WebAddress("http://portal.example/a/b?c") else { preconditionFailure("no address") }
    var limits = WebLimits(time: .seconds(1), body: body)
    (limits.headerBytes, limits.headerFields) = (256, 8)
    var exchange: WebExchange?
    let channel = EmbeddedChannel()
    do {
        try channel.pipeline.syncOperations.addWebHandlers(for: address, limits: limits) { exchange = exchange ?? $0 }
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 80)).wait()
    } catch {
        preconditionFailure("no connection")
    }
    channel.pipeline.syncOperations.write(WebRequest(.get, address))
    for piece in pieces where channel.isActive { _ = try? channel.writeInbound(ByteBuffer(bytes: piece)) }
    channel.pipeline.fireChannelInactive()
    _ = try? channel.finish(acceptAlreadyClosed: true)
    guard let exchange else { preconditionFailure("it never ends") }
    return exchange.result
}

/// Where several things are wrong, which of them is seen first depends on how much has arrived.
private func isSame(_ left: Result<WebAnswer, WebFailure>, _ right: Result<WebAnswer, WebFailure>) -> Bool {
    switch (left, right) {
    case (.success(let left), .success(let right)): left == right
    case (.failure, .failure): true
    default: false
    }
}

/// What was taken keeps to the limits, and can be asked anything.
private func check(_ answer: WebAnswer, body: WebLimits.Body) {
    precondition((200...999).contains(answer.status) && answer.body.count <= body.count)
    if case .whole = body { precondition(answer.isWhole) }
    if let location = answer.location {
        guard let again = try? WebAddress(location.description) else { preconditionFailure("no address any more") }
        precondition(again == location, "an address reads otherwise once it is written")
    }
    _ = answer.contentType
    for expected in [ValidationSource.Expectation.status(204), .body("ok")] {
        if case .captive(let portal?) = ValidationFinding(answer, expected: expected) {
            precondition(portal.utf8.allSatisfy { (0x21...0x7e).contains($0) })
        }
    }
}
