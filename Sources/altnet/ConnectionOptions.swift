import AppClient
import ArgumentParser

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// What every command that talks to the agent takes.
struct ConnectionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The agent's socket (default: $ALTNET_SOCKET, or \(Self.standardSocket)).", valueName: "path"))
    var socket: String?

    @Flag(help: "Print JSON, in the terms of the app protocol.")
    var json = false

    @Option(help: ArgumentHelp("How long to wait for an answer of the agent.", valueName: "seconds"))
    var answerWithin = 10

    func validate() throws {
        if !(1...3600).contains(answerWithin) { throw ValidationError("wait 1 to 3600 seconds for an answer") }
    }

    static let standardSocket = "/run/altnet/altnet.sock"

    var endpoint: Endpoint {
        let environment = getenv("ALTNET_SOCKET").map { String(cString: $0) } ?? ""
        return .unixSocket(path: socket ?? (environment.isEmpty ? Self.standardSocket : environment))
    }
}
