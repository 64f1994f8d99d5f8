import Agent

/// Table of the files that altnet keeps on a device, and of the ways to remove them.
enum PersistentFileTable {
    static func text() throws -> String {
        let settings = try AgentSettings(environment: ["ALTNET_ROOT_KEY": AgentSettings.packagedRootKey])
        return Markdown.table(
            ["file", "what it has", "`factory-reset`", "button", "purge", "why not"], centred: [2, 3, 4],
            PersistentFile.all.map { file in
                func mark(_ remover: PersistentFile.RemovedBy) -> String { file.removedBy.contains(remover) ? "x" : "" }
                return [
                    Markdown.code(name(of: file, settings)), file.content, mark(.reset), mark(.button), mark(.purge),
                    file.reason,
                ]
            })
    }

    private static func name(of file: PersistentFile, _ settings: AgentSettings) -> String {
        switch file.location {
        case .state, .store, .rootKey, .runtime, .socket, .system, .givenBack: file.paths(settings).first ?? file.name
        case .anchor, .recording, .metrics, .metricsSocket: file.name
        }
    }
}
