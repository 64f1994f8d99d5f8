import ArgumentParser
import Foundation

@main
struct AltnetDocs: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "altnet-docs", abstract: "Generates parts of the documents from the code.",
        discussion: """
            A generated part of a page stands between the lines '<!-- made by make docs: NAME -->' and \
            '<!-- end -->'. The page of settings and the delivered settings file are generated as a whole. Run it \
            as 'make docs', which writes the manual pages too.
            """)

    @Flag(help: "Write nothing. List outdated files, and exit with status 1 if there are any.")
    var check = false

    @Argument(help: "The repository's top folder.")
    var folder = "."

    func run() throws {
        let repository = Repository(folder: folder)
        var outdated: [String] = []
        for page in try GeneratedPage.all(in: repository) {
            let present = try? repository.text(of: page.path)
            let generated = try page.text(from: present)
            guard generated != present else { continue }
            outdated.append(page.path)
            if !check { try repository.write(generated, to: page.path) }
        }
        for path in outdated { print(check ? "\(path) is out of date" : "\(path) was written") }
        guard check, !outdated.isEmpty else { return }
        print("run: make docs")
        throw ExitCode(1)
    }
}

struct Repository {
    let folder: String

    func text(of path: String) throws -> String { try String(contentsOfFile: "\(folder)/\(path)", encoding: .utf8) }

    func write(_ text: String, to path: String) throws {
        try text.write(toFile: "\(folder)/\(path)", atomically: true, encoding: .utf8)
    }
}
