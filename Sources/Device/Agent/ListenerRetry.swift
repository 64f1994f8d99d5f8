import AppServer
import Linux
import Logging

/// Opens the server for the network. Tries again every 30 s after a failure; the device works meanwhile.
struct ListenerRetry: Sendable {
    let server: AppServer
    let log: Logger
    static let pause = Duration.seconds(30)

    /// Returns when the server listens or the task is cancelled.
    @AgentLoop func open() async {
        var lastReported: AppServerError?
        while !Task.isCancelled {
            do throws(AppServerError) {
                try await server.startInNetwork()
                if let port = server.lanPort { log.notice("listening for apps in the network on port \(port)") }
                return
            } catch {
                if error != lastReported { log.error("cannot listen for apps in the network, retrying: \(error)") }
                lastReported = error
                await AgentLoop.sleep(for: Self.pause)
            }
        }
    }
}
