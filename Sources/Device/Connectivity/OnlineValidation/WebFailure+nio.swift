import NIOCore
import NIOHTTP1
import NIOSSL

extension WebFailure {
    /// What went wrong on a connection that was there.
    init(_ error: any Error) {
        self =
            switch error {
            case let failure as WebFailure: failure
            case HTTPParserError.headerOverflow: .tooLarge(.header)
            case HTTPParserError.invalidEOFState: .closedEarly
            case is HTTPParserError: .notHTTP
            // The end was not announced: the answer may lack something.
            case NIOSSLError.uncleanShutdown: .closedEarly
            case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: .tlsFailed
            default: .closedEarly
            }
    }
}
