import Foundation

// The few types of UIKit that the screen of SeedScreenTests.swift uses. What UIKit draws is a property here, and a test
// taps what it finds.

@MainActor class UIViewController {
    private(set) var presented: UIAlertController?

    func viewDidLoad() {}
    func present(_ alert: UIAlertController, animated: Bool) { presented = alert }
}

@MainActor final class UILabel {
    var text: String?
}

@MainActor final class UITableViewCell {
    enum CellStyle { case value1 }

    var textLabel: UILabel? = UILabel()
    var detailTextLabel: UILabel? = UILabel()

    init(style: CellStyle, reuseIdentifier: String?) {}
}

@MainActor protocol UITableViewDataSource: AnyObject {
    func numberOfSections(in tableView: UITableView) -> Int
    func tableView(_ tableView: UITableView, numberOfRowsInSection section: Int) -> Int
    func tableView(_ tableView: UITableView, cellForRowAt indexPath: IndexPath) -> UITableViewCell
}

@MainActor protocol UITableViewDelegate: AnyObject {
    func tableView(_ tableView: UITableView, didSelectRowAt indexPath: IndexPath)
}

@MainActor final class UITableView {
    weak var dataSource: (any UITableViewDataSource)?
    weak var delegate: (any UITableViewDelegate)?
    private let (reloads, reload) = AsyncStream.makeStream(of: Void.self)

    func reloadData() { reload.yield() }

    func dequeueReusableCell(withIdentifier: String) -> UITableViewCell? { nil }

    /// Returns after the next reload that no caller has waited for.
    func isReloaded() async { for await _ in reloads { return } }

    /// Rows of a section: each with its text and its detail.
    func rows(in section: Int) -> [[String]] {
        let count = dataSource?.tableView(self, numberOfRowsInSection: section) ?? 0
        return (0..<count).compactMap {
            dataSource?.tableView(self, cellForRowAt: IndexPath(row: $0, section: section))
        }
        .map { [$0.textLabel?.text ?? "", $0.detailTextLabel?.text ?? ""] }
    }

    func tap(_ row: Int, in section: Int) {
        delegate?.tableView(self, didSelectRowAt: IndexPath(row: row, section: section))
    }
}

@MainActor final class UIAlertAction {
    enum Style { case `default`, cancel }

    let title: String?
    fileprivate let handler: ((UIAlertAction) -> Void)?

    init(title: String?, style: Style, handler: ((UIAlertAction) -> Void)? = nil) {
        (self.title, self.handler) = (title, handler)
    }
}

@MainActor final class UIAlertController {
    enum Style { case alert, actionSheet }

    let title: String?
    private(set) var actions: [UIAlertAction] = []

    init(title: String?, message: String?, preferredStyle: Style) { self.title = title }

    func addAction(_ action: UIAlertAction) { actions.append(action) }

    func tap(_ title: String) {
        guard let action = actions.first(where: { $0.title == title }) else { return }
        action.handler?(action)
    }
}

extension IndexPath {
    init(row: Int, section: Int) { self.init(indexes: [section, row]) }

    var section: Int { self[0] }
    var row: Int { self[1] }
}
