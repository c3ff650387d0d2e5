// The plans of the browser tests, over the shop of the guide.

/** Waits for an approval: its second call moves money. */
export const payBack = {
  name: 'pay-back',
  inputs: { amount: { type: 'number', default: 20 } },
  steps: [
    { id: 'list', tool: 'list_orders' },
    { id: 'money', title: 'What each order is worth there', for_each: '${list.orders}', tool: 'convert', args: { amount: '${item.total}', country: '${item.country}' }, on_error: 'continue' },
    { id: 'ada', tool: 'get_customer', args: { name: '${list.orders[0].customer}' } },
    { id: 'back', tool: 'refund', args: { order: '${list.orders[0].id}', amount: '${inputs.amount}' } },
    { id: 'tell', tool: 'send_mail', args: { to: '${ada.email}', text: 'Order ${list.orders[0].id}: ${back}' } },
  ],
  output: { message: '${tell.text}' },
};

/** Asks for each item of a loop. */
export const payAll = {
  name: 'pay-all',
  steps: [
    { id: 'list', tool: 'list_orders' },
    { id: 'each', for_each: '${list.orders}', tool: 'refund', args: { order: '${item.id}', amount: 5 } },
    { id: 'extra', tool: 'refund', args: { order: 'o-9', amount: 1 } },
  ],
};

/** Fails, since there is no such customer. */
export const welcome = {
  name: 'welcome',
  inputs: { who: { type: 'string', default: 'Ada' } },
  steps: [
    { id: 'orders', tool: 'list_orders' },
    { id: 'customer', tool: 'get_customer', args: { name: '${inputs.who}' } },
    { id: 'mail', tool: 'send_mail', args: { to: '${customer.email}', text: 'About ${orders.orders[0].id}.' } },
  ],
  output: '${mail}',
};

/** Runs a plan for each item of a list. */
export const mailing = {
  name: 'mailing',
  steps: [
    { id: 'list', tool: 'list_orders' },
    { id: 'each', for_each: '${list.orders}', args: { who: '${item.customer}' }, on_error: 'continue', plan: {
      inputs: { who: { type: 'string' } },
      steps: [
        { id: 'find', tool: 'get_customer', args: { name: '${inputs.who}' } },
        { id: 'send', tool: 'send_mail', args: { to: '${find.email}', text: 'Hello' } },
      ],
    } },
  ],
};

/** Has attempts, waits between them, and a plan inside of a step. */
export const stockTaking = {
  name: 'stock-taking',
  steps: [
    { id: 'cups', tool: 'stock', args: { article: 'cup' }, retry: { attempts: 4, delay: '20ms' } },
    { id: 'orders', tool: 'list_orders' },
    { id: 'mails', plan: { steps: [
      { id: 'find', tool: 'get_customer', args: { name: 'Ada' } },
      { id: 'send', tool: 'send_mail', args: { to: '${find.email}', text: 'Hello' } },
    ], output: '${send}' } },
    { id: 'done', tool: 'send_mail', args: { to: '${mails.to}', text: 'There are ${cups.count} cups.' } },
  ],
};
