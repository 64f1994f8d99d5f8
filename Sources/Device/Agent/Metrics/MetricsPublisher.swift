import AgentModel
import AppProtocol
import AppServer
import Glibc
import Linux
import Logging
import NIOCore
import NIOPosix

/// Sends the agent's metrics to the places in the settings. Logs a failure once and tries again.
package actor MetricsPublisher {
    private let settings: MetricsSettings
    private let loop: any EventLoop
    private let log: Logger
    private let report: @Sendable () async -> MetricsReport
    private var listener: WebListener?
    private var socket: (any Channel)?
    private var statsD = StatsDLines()
    private var failures: Set<String> = []

    package init(
        _ settings: MetricsSettings, on loop: any EventLoop, log: Logger,
        report: @escaping @Sendable () async -> MetricsReport
    ) {
        (self.settings, self.loop, self.log, self.report) = (settings, loop, log, report)
    }

    package func run() async {
        guard settings != .none else { return }
        while !Task.isCancelled {
            await publish()
            // An open listener needs no further work, so sleep for a day.
            let isListeningOnly = settings.file == nil && settings.statsD == nil && listener != nil
            try? await TaskClock().sleep(
                for: isListeningOnly ? .seconds(86_400) : MetricsSettings.interval, tolerance: .seconds(5))
        }
    }

    func publish() async {
        if listener == nil { await listen() }
        guard settings.file != nil || settings.statsD != nil else { return }
        let report = await report()
        if let path = settings.file { await write(report, to: path) }
        if let place = settings.statsD { await sendToStatsD(report, place) }
    }

    package func end() async {
        await listener?.close()
        try? await socket?.close()
    }

    private func write(_ report: MetricsReport, to path: String) async {
        let (folder, name) = Self.parts(of: path)
        await attempt("write the metrics to \(path)") {
            try await MetricsFile().write(report.text(.prometheus), in: folder, as: name)
        }
    }

    static func parts(of path: String) -> (folder: String, name: String) {
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        return (slash == path.startIndex ? "/" : String(path[..<slash]), String(path[slash...].dropFirst()))
    }

    private func sendToStatsD(_ report: MetricsReport, _ place: MetricsSettings.SocketPlace) async {
        let datagrams = statsD.datagrams(report)
        await attempt("send metrics to StatsD at \(place.address):\(place.port)") {
            let socket = try await self.channel(to: place)
            for datagram in datagrams { try await socket.writeAndFlush(ByteBuffer(string: datagram)) }
        }
    }

    private func channel(to place: MetricsSettings.SocketPlace) async throws -> any Channel {
        if let socket, socket.isActive { return socket }
        let channel = try await DatagramBootstrap(group: loop)
            .connect(to: SocketAddress(ipAddress: "\(place.address)", port: place.port)).get()
        socket = channel
        return channel
    }

    private func listen() async {
        guard let endpoint = settings.endpoint else { return }
        let listener = WebListener(MetricsPages(report: report))
        await attempt("listen for readers of metrics") {
            switch endpoint {
            case .file(let path): try await listener.listen(atSocket: path, mode: 0o666, on: self.loop)
            case .loopback(let place): try await listener.listen(at: place.address, port: place.port, on: self.loop)
            }
            self.listener = listener
        }
    }

    private func attempt(_ what: String, _ body: () async throws -> Void) async {
        do {
            try await body()
            failures.remove(what)
        } catch {
            if failures.insert(what).inserted { log.warning("cannot \(what): \(error)") }
        }
    }
}

extension MetricsSettings {
    static let none = MetricsSettings()

    private init() {}
}

actor MetricsFile {
    nonisolated var unownedExecutor: UnownedSerialExecutor { DiskLoop.sharedUnownedExecutor }

    /// Path of the new file before it is renamed.
    static func temporary(in folder: String, of name: String) -> String { "\(folder)/.\(name).new" }

    /// Replaces the file, atomically for readers. Does not flush the file, because it is useless after a power cut.
    func write(_ text: String, in folder: String, as name: String) throws(SystemError) {
        let (path, new) = ("\(folder)/\(name)", Self.temporary(in: folder, of: name))
        let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard descriptor >= 0 else { throw SystemError("open \(new)", errno: errno) }
        defer { close(descriptor) }
        fchmod(descriptor, 0o644)
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw SystemError("write \(new)", errno: errno) }
            bytes = bytes.dropFirst(count)
        }
        guard rename(new, path) == 0 else { throw SystemError("replace \(path)", errno: errno) }
    }
}

struct MetricsPages: WebPages {
    let report: @Sendable () async -> MetricsReport

    func respond(to request: BrowserRequest, from client: Browser) async -> BrowserResponse {
        guard request.path == "/metrics" else {
            return BrowserResponse(404, [("Content-Type", "text/plain")], body: Array("See /metrics\n".utf8))
        }
        guard request.method == .get else { return BrowserResponse(405, [("Allow", "GET, HEAD")]) }
        let format: MetricsReport.TextFormat =
            request.accept?.contains("application/openmetrics-text") == true ? .openMetrics : .prometheus
        return BrowserResponse(
            200, [("Content-Type", format.mediaType)], body: Array(await report().text(format).utf8))
    }
}
